"""Tool-info module of BenchExec for postbop.

Put this folder on PYTHONPATH and write <benchmark tool="postbop"> in a benchmark definition, or use
`--tool-directory` if the binary is not on PATH. docs/reports.md has an example.
"""

import re

import benchexec.result as result
import benchexec.tools.template


class Tool(benchexec.tools.template.BaseTool2):
    """How postbop is called, and what its output means."""

    def executable(self, tool_locator):
        return tool_locator.find_executable("postbop")

    def name(self):
        return "postbop"

    def project_url(self):
        return ""

    def version(self, executable):
        return self._version_from_tool(executable, line_prefix="postbop")

    def cmdline(self, executable, options, task, rlimits):
        limits = []
        # A little less than what BenchExec allows, so that an answer comes before the end.
        if rlimits.cputime and "--timeout" not in options:
            limits += ["--timeout", f"{max(1, rlimits.cputime - 1)}s"]
        if rlimits.memory and "--memory" not in options:
            limits += ["--memory", f"{max(1, rlimits.memory * 9 // 10 // 1_000_000)}M"]
        return [executable, "check", "--trace", "none", *limits, *options, *task.input_files]

    def determine_result(self, run):
        """The verdict on all properties is the last line; the exit status must say the same."""
        verdict = None
        for line in run.output:
            match = re.match(r"VERDICT: (\w+)(.*)", line)
            if match:
                verdict = match
        status = run.exit_code.value
        if verdict is None or status is None:
            if status == 2:
                return result.RESULT_ERROR + " (bad input)"
            return result.RESULT_ERROR
        word, rest = verdict.group(1), verdict.group(2).strip()
        if (word, status) == ("holds", 0):
            # A verdict about some runs only is no verdict about all of them.
            return f"{result.RESULT_DONE} (holds {rest})" if rest else result.RESULT_TRUE_PROP
        if (word, status) == ("violated", 1):
            return result.RESULT_FALSE_PROP
        if (word, status) == ("unknown", 3):
            return self._unknown(rest)
        return result.RESULT_ERROR

    @staticmethod
    def _unknown(rest):
        if "time limit" in rest:
            return result.RESULT_TIMEOUT
        if "memory limit" in rest:
            return "OUT OF MEMORY"
        return f"{result.RESULT_UNKNOWN} {rest}".strip()

    def get_value_from_output(self, output, identifier):
        """A counter of `--stats`, by its name."""
        for line in output:
            name, _, value = line.partition(" ")
            if name == identifier:
                return value.strip()
        return None
