//! Chromium, driven by its own protocol over pipes (Chrome DevTools Protocol; messages of JSON end
//! with a zero byte).

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use plimsoll_testing::wait_until;
use serde_json::{Value, json};

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    session: Option<String>,
    count: u64,
    /// What the page's console said of errors, and what went wrong in scripts.
    pub(crate) faults: Vec<Value>,
    _folder: tempfile::TempDir,
}

#[expect(clippy::disallowed_methods, reason = "the test runs another program and waits for it")]
impl Browser {
    /// A browser without a window; `None`, said by name, where there is no Chromium.
    pub(crate) fn start(test: &str) -> Option<Self> {
        let program = plimsoll_testing::installed(test, "chromium")?;
        let version = Command::new(program).arg("--version").output().unwrap();
        assert!(version.status.success(), "{}", String::from_utf8_lossy(&version.stderr));
        let folder = tempfile::tempdir().unwrap();
        let [to, from] = ["to", "from"].map(|name| folder.path().join(name));
        assert!(Command::new("mkfifo").arg(&to).arg(&from).status().unwrap().success());
        // Ended by itself if the test is.
        let run = "exec timeout 180 chromium --headless --no-sandbox --disable-gpu \
                   --no-proxy-server --remote-debugging-pipe --user-data-dir=\"$2/profile\" \
                   3<\"$0\" 4>\"$1\"";
        let mut command = Command::new("sh");
        command.args(["-c", run]).args([&to, &from]).arg(folder.path()).env("HOME", folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let to = File::options().write(true).open(to).unwrap();
        let from = BufReader::new(File::open(from).unwrap());
        let (session, faults) = (None, Vec::new());
        let mut browser = Self { child, to, from, session, count: 0, faults, _folder: folder };
        let target = browser.send("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.send("Target.attachToTarget", &attach);
        browser.session = Some(session["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.send(domain, &json!({}));
        }
        Some(browser)
    }

    /// Says something to the browser, or its page, and returns the answer.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> Value {
        self.count += 1;
        let mut message = json!({"id": self.count, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut bytes = Vec::new();
            self.from.read_until(0, &mut bytes).unwrap();
            assert_eq!(bytes.pop(), Some(0), "the browser has ended");
            let mut said: Value = serde_json::from_slice(&bytes).unwrap();
            if said["id"] == self.count {
                assert!(said["error"].is_null(), "{method}: {said}");
                return said["result"].take();
            }
            let error = &said["params"]["entry"]["level"] == "error";
            if error || said["method"] == "Runtime.exceptionThrown" {
                self.faults.push(said["params"].take());
            }
        }
    }

    /// What an expression is on the page.
    pub(crate) fn look(&mut self, expression: &str) -> Value {
        let ask = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let mut result = self.send("Runtime.evaluate", &ask);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].take()
    }

    /// Waits until an expression is so on the page.
    pub(crate) fn until(&mut self, expression: &str, so: &Value) {
        // While the page changes there may be nothing to look at.
        let ask = json!({"expression": expression, "returnByValue": true});
        wait_until(&format!("{expression} to be {so}"), || {
            self.send("Runtime.evaluate", &ask)["result"]["value"] == *so
        });
    }

    /// Presses a key on what has the focus.
    pub(crate) fn press(&mut self, key: &str, code: u32, text: &str) {
        for kind in ["keyDown", "keyUp"] {
            let event = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code,
                "text": if kind == "keyDown" { text } else { "" },
            });
            self.send("Input.dispatchKeyEvent", &event);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.session = None;
        let close = "{\"id\": 0, \"method\": \"Browser.close\"}\0";
        if self.to.write_all(close.as_bytes()).is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
