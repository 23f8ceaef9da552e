"""The tool-info module against the binary that POSTBOP names: `POSTBOP=target/release/postbop python3 bench/benchexec/test_postbop.py`."""

import os
import pathlib
import subprocess
import sys
import types
import unittest

from benchexec import result
from benchexec.tools.template import BaseTool2
from benchexec.util import ProcessExitCode

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import postbop  # noqa: E402


class ToolInfo(unittest.TestCase):
    def setUp(self):
        self.tool = postbop.Tool()
        self.binary = os.environ["POSTBOP"]

    def ran(self, file, options=(), cputime=None):
        rlimits = types.SimpleNamespace(cputime=cputime, memory=2_000_000_000)
        task = types.SimpleNamespace(input_files=[file])
        command = self.tool.cmdline(self.binary, list(options), task, rlimits)
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        lines = BaseTool2.RunOutput(done.stdout.splitlines(keepends=True))
        code = ProcessExitCode.create(value=done.returncode)
        return BaseTool2.Run(command, code, lines, None)

    def verdict(self, *args, **more):
        return self.tool.determine_result(self.ran(*args, **more))

    def test_verdicts(self):
        self.assertEqual(self.verdict("examples/locks-fixed.bp"), result.RESULT_TRUE_PROP)
        self.assertEqual(self.verdict("examples/locks.bp"), result.RESULT_FALSE_PROP)
        self.assertEqual(self.verdict("examples/bebop.bp", ["--target", "R"]), result.RESULT_FALSE_PROP)
        self.assertEqual(self.verdict("examples/parity.bp", cputime=60), result.RESULT_TRUE_PROP)

    def test_a_bound_is_not_taken_for_all_runs(self):
        verdict = self.verdict("examples/seats.bp", ["--switches", "1"])
        self.assertEqual(verdict, "done (holds up to 1 context switch)")

    def test_limits_and_mistakes(self):
        slow = ["--engine", "explicit", "--timeout", "1ms"]
        self.assertEqual(self.verdict("examples/sort.bp", slow), result.RESULT_TIMEOUT)
        self.assertEqual(self.verdict("examples/no-such-file.bp"), result.RESULT_ERROR + " (bad input)")
        killed = BaseTool2.Run([], ProcessExitCode.create(signal=9), BaseTool2.RunOutput([]), None)
        self.assertEqual(self.tool.determine_result(killed), result.RESULT_ERROR)

    def test_a_status_that_contradicts_the_output_is_an_error(self):
        lines = BaseTool2.RunOutput(["VERDICT: holds\n"])
        run = BaseTool2.Run([], ProcessExitCode.create(value=1), lines, None)
        self.assertEqual(self.tool.determine_result(run), result.RESULT_ERROR)

    def test_counters_and_version(self):
        run = self.ran("examples/locks-fixed.bp", ["--stats"])
        self.assertGreater(int(self.tool.get_value_from_output(run.output, "total_us")), 0)
        self.assertIsNone(self.tool.get_value_from_output(run.output, "no_such_counter"))
        self.assertRegex(self.tool.version(self.binary), r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
