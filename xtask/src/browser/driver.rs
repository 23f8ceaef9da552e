//! Room `xtask/browser`: a browser driven over HTTP, as the WebDriver protocol says.
//!
//! ChromeDriver is started on a port of its own choice and starts Chromium without a window. Each command is a request with a
//! JSON body. The browser gets a new profile, and is told not to look for anything on a network.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Seconds for one command.
const PATIENCE: u64 = 60;

/// The key under which the protocol names elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// The programs, if they are installed: the browser, and its driver.
pub fn installed() -> Option<(PathBuf, PathBuf)> {
    let find = |names: &[&str]| {
        let folders = std::env::var_os("PATH")?;
        let all = std::env::split_paths(&folders)
            .flat_map(|folder| names.iter().map(move |name| folder.join(name)));
        all.into_iter().find(|path| path.is_file())
    };
    Some((find(&["chromium", "chromium-browser", "google-chrome"])?, find(&["chromedriver"])?))
}

/// A browser with one page.
pub struct Browser {
    driver: Child,
    session: String,
    profile: PathBuf,
}

impl Browser {
    /// Starts a browser, with a profile in this folder.
    pub fn start(folder: &Path) -> Result<Self, String> {
        let (chromium, chromedriver) = installed().ok_or("chromium and chromedriver are not installed")?;
        let profile = folder.join("profile");
        let _ = std::fs::remove_dir_all(&profile);
        std::fs::create_dir_all(&profile).map_err(|problem| problem.to_string())?;
        let mut driver = Command::new(chromedriver)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .stdin(Stdio::null())
            .spawn()
            .map_err(|problem| format!("chromedriver: {problem}"))?;
        let port = port(&mut driver);
        let mut browser = Browser { driver, session: String::new(), profile };
        let address = format!("http://127.0.0.1:{}/session", port?);
        let profile = format!("--user-data-dir={}", browser.profile.display());
        let flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            &profile,
        ];
        let wishes = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "binary": chromium, "args": flags },
            "goog:loggingPrefs": { "browser": "ALL" },
        }}});
        let answer = ask(minreq::post(&address), &wishes)?;
        let id = answer["sessionId"].as_str().ok_or("chromedriver gives no session")?;
        browser.session = format!("{address}/{id}");
        Ok(browser)
    }

    /// A command.
    fn command(&self, path: &str, body: &Value) -> Result<Value, String> {
        ask(minreq::post(format!("{}/{path}", self.session)), body)
            .map_err(|problem| format!("{path}: {problem}"))
    }

    /// Opens a page.
    pub fn open(&self, address: &str) -> Result<(), String> {
        // A page with another fragment alone would not be loaded anew.
        self.command("url", &json!({ "url": "about:blank" }))?;
        self.command("url", &json!({ "url": address })).map(drop)
    }

    /// The value of an expression in the page.
    pub fn value(&self, expression: &str) -> Result<Value, String> {
        self.command("execute/sync", &json!({ "script": format!("return {expression}"), "args": [] }))
            .map_err(|problem| format!("{expression}: {problem}"))
    }

    /// Clicks on the first element that a selector finds.
    pub fn click(&self, selector: &str) -> Result<(), String> {
        let found = self.command("element", &json!({ "using": "css selector", "value": selector }))?;
        let id = found[ELEMENT].as_str().ok_or_else(|| format!("there is no {selector}"))?;
        self.command(&format!("element/{id}/click"), &json!({})).map(drop)
    }

    /// Presses keys, one after the other. Keys without a character have those that WebDriver gives them.
    pub fn press(&self, keys: &str) -> Result<(), String> {
        let stroke = |key: char| {
            let value = key.to_string();
            [json!({ "type": "keyDown", "value": value }), json!({ "type": "keyUp", "value": value })]
        };
        let strokes: Vec<Value> = keys.chars().flat_map(stroke).collect();
        let actions = json!({ "actions": [{ "type": "key", "id": "keys", "actions": strokes }] });
        self.command("actions", &actions).map(drop)
    }

    /// Gives the page a size, and light or dark colours.
    pub fn show(&self, (width, height): (u32, u32), dark: bool) -> Result<(), String> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.devtools("Emulation.setDeviceMetricsOverride", &size)?;
        let scheme = json!({ "name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" } });
        self.devtools("Emulation.setEmulatedMedia", &json!({ "features": [scheme] }))
    }

    fn devtools(&self, command: &str, parameters: &Value) -> Result<(), String> {
        self.command("goog/cdp/execute", &json!({ "cmd": command, "params": parameters })).map(drop)
    }

    /// Keeps a picture of the page.
    pub fn picture(&self, path: &Path) -> Result<(), String> {
        let answer = minreq::get(format!("{}/screenshot", self.session)).with_timeout(PATIENCE).send();
        let answer: Value = answer.map_err(|problem| problem.to_string()).and_then(|answer| {
            serde_json::from_slice(answer.as_bytes()).map_err(|problem| problem.to_string())
        })?;
        let text = answer["value"].as_str().ok_or("no picture")?;
        let bytes = BASE64_STANDARD.decode(text).map_err(|problem| problem.to_string())?;
        std::fs::write(path, bytes).map_err(|problem| format!("{}: {problem}", path.display()))
    }

    /// What the page complained about since the last time.
    pub fn complaints(&self) -> Result<Vec<String>, String> {
        let lines = self.command("se/log", &json!({ "type": "browser" }))?;
        let lines = lines.as_array().cloned().unwrap_or_default();
        Ok(lines.iter().map(|line| line["message"].as_str().unwrap_or("?").to_owned()).collect())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It closes the browser, which would outlive its driver.
        let _ = minreq::delete(&self.session).with_timeout(PATIENCE).send();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// The port that the driver says it listens on.
fn port(driver: &mut Child) -> Result<u16, String> {
    let out = driver.stdout.take().ok_or("chromedriver says nothing")?;
    for line in BufReader::new(out).lines().map_while(Result::ok) {
        let number = line.split_once("on port ").map(|(_, rest)| rest.trim_end_matches('.'));
        if let Some(port) =
            number.filter(|_| line.contains("successfully")).and_then(|text| text.parse().ok())
        {
            return Ok(port);
        }
    }
    Err("chromedriver names no port".into())
}

/// Sends a command; its value, or what went wrong.
fn ask(request: minreq::Request, body: &Value) -> Result<Value, String> {
    let request = request.with_header("Content-Type", "application/json").with_body(body.to_string());
    let answer = request.with_timeout(PATIENCE).send().map_err(|problem| problem.to_string())?;
    let mut value: Value =
        serde_json::from_slice(answer.as_bytes()).map_err(|problem| problem.to_string())?;
    match value["value"].get("error") {
        Some(_) => {
            Err(value["value"]["message"].as_str().unwrap_or("?").lines().next().unwrap_or("?").to_owned())
        }
        None => Ok(value["value"].take()),
    }
}
