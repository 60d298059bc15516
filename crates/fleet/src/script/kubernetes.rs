//! Kubernetes: an Indexed Job of workers that wait at a broker, and what they may know.

use super::{Allotment, MIB};

/// Manifests of a job.
#[derive(Debug, Clone, Copy)]
pub struct Kubernetes<'a> {
    /// What the workers are given.
    pub of: Allotment<'a>,
    /// Where; the namespace that is in use where none is named.
    pub namespace: Option<&'a str>,
    /// The image, with this program as its entry point.
    pub image: &'a str,
    /// The words of a worker, but for its key, its list of controllers and certificates.
    pub words: &'a [String],
    /// Variables that it has of the secret `NAME-environment`, beside the broker's password.
    pub variables: &'a [String],
    /// The list of controllers.
    pub controllers: &'a str,
    /// The certificates that the broker is trusted by, PEM.
    pub authorities: Option<&'a str>,
}

/// The user of the image.
const USER: u32 = 65_532;
/// A job that is over is forgotten after so long.
const KEPT_S: u32 = 600;
/// Nodes with a worker are not given up to save money.
// tidy: allow(words, it is Kubernetes's name)
const STAYS: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";
/// Where a worker finds its key, and its lists.
// tidy: allow(shared-folder, it is a container's own)
const KEY: &str = "/run/plimsoll/worker.key";
const LISTS: &str = "/etc/plimsoll";
/// The variable that has the broker's password.
const PASSWORD: &str = "PLIMSOLL_BUS_PASSWORD";

impl Kubernetes<'_> {
    /// The manifests, as YAML.
    #[must_use]
    pub fn manifests(&self) -> String {
        format!("{}---\n{}---\n{}", self.about(), self.lists(), self.job())
    }

    /// What is to be done before: secrets do not stand in manifests.
    fn about(&self) -> String {
        let Allotment { name, workers, .. } = self.of;
        let last = workers.saturating_sub(1);
        let namespace = self.namespace.map(|of| format!(" --namespace {of}")).unwrap_or_default();
        let mut out = format!(
            "# {workers} workers that wait at a broker: kubectl apply -f FILE\n\
             # Their keys, w0.key to w{last}.key, and the broker's password are secrets there:\n\
             #   plimsoll fleet key keys/w{{0..{last}}}\n\
             #   cat keys/w*.pub > workers.txt        # what --known of the controller wants\n\
             #   kubectl create secret generic {name}-keys{namespace} \
             $(printf -- '--from-file=%s ' keys/w*.key)\n\
             #   kubectl create secret generic {name}-environment{namespace} \
             --from-file={PASSWORD}=password.txt\n"
        );
        if !self.variables.is_empty() {
            let names = self.variables.join(", ");
            out.push_str(&format!("# The latter also has {names}.\n"));
        }
        out
    }

    /// What is no secret: who may give orders, and by whom the broker is known.
    fn lists(&self) -> String {
        let head = self.head("ConfigMap", "v1", "-lists");
        let mut out = format!("{head}data:\n  controllers.txt: |\n{}", block(self.controllers, 4));
        if let Some(authorities) = self.authorities {
            out.push_str(&format!("  broker.pem: |\n{}", block(authorities, 4)));
        }
        out
    }

    fn head(&self, kind: &str, version: &str, ending: &str) -> String {
        let name = self.of.name;
        let namespace = self.namespace.map(|of| format!("  namespace: {of}\n"));
        format!(
            "apiVersion: {version}
kind: {kind}
metadata:
  name: {name}{ending}
{}  labels:
    app.kubernetes.io/name: plimsoll
    app.kubernetes.io/instance: {name}
",
            namespace.unwrap_or_default()
        )
    }

    fn job(&self) -> String {
        let Allotment { name, workers, .. } = self.of;
        let deadline = self.of.time.as_secs().max(1);
        let pod = indented(&self.pod(), 6);
        format!(
            "{}spec:
  completionMode: Indexed
  completions: {workers}
  parallelism: {workers}
  # A worker that fails is not started again, and takes no other with it: what it was doing is
  # given to those that are left.
  backoffLimitPerIndex: 0
  activeDeadlineSeconds: {deadline}
  ttlSecondsAfterFinished: {KEPT_S}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: plimsoll
        app.kubernetes.io/instance: {name}
      annotations:
        {STAYS}: \"false\"
    spec:
{pod}",
            self.head("Job", "batch/v1", "")
        )
    }

    fn pod(&self) -> String {
        let Allotment { name, processors, memory_bytes, .. } = self.of;
        let memory = memory_bytes.div_ceil(MIB);
        let image = scalar(self.image);
        let arguments: String =
            self.arguments().iter().map(|word| format!("- {}\n", scalar(word))).collect();
        let arguments = indented(&arguments, 2);
        let variables = indented(&self.environment(), 2);
        format!(
            "restartPolicy: Never
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {USER}
  runAsGroup: {USER}
  fsGroup: {USER}
  seccompProfile:
    type: RuntimeDefault
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      app.kubernetes.io/instance: {name}
containers:
- name: worker
  image: {image}
  args:
{arguments}  env:
{variables}  resources:
    requests:
      cpu: {processors}
      memory: {memory}Mi
    limits:
      cpu: {processors}
      memory: {memory}Mi
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities:
      drop: [ALL]
  volumeMounts:
  - name: keys
    mountPath: {KEY}
    subPathExpr: w$(WORKER).key
    readOnly: true
  - name: lists
    mountPath: {LISTS}
    readOnly: true
  - name: tmp
    mountPath: /tmp
volumes:
- name: keys
  secret:
    secretName: {name}-keys
    defaultMode: 288 # 0440
- name: lists
  configMap:
    name: {name}-lists
- name: tmp
  emptyDir: {{}}
"
        )
    }

    fn arguments(&self) -> Vec<String> {
        // `$(NAME)` would be a variable there, and `$$` is `$`.
        let mut words: Vec<String> = self.words.iter().map(|of| of.replace('$', "$$")).collect();
        let mut flag = |name: &str, value: String| words.extend([name.to_owned(), value]);
        flag("--key", KEY.to_owned());
        flag("--trust", format!("{LISTS}/controllers.txt"));
        if self.authorities.is_some() {
            flag("--bus-ca", format!("{LISTS}/broker.pem"));
        }
        self.variables.iter().for_each(|name| flag("--env", name.clone()));
        // Volumes of pods are open to all who are in them.
        words.push("--alone".to_owned());
        words
    }

    fn environment(&self) -> String {
        let of_secret = |name: &str| {
            format!(
                "- name: {name}
  valueFrom:
    secretKeyRef:
      name: {}-environment
      key: {name}
",
                self.of.name
            )
        };
        let secret = [PASSWORD].into_iter().chain(self.variables.iter().map(String::as_str));
        let secret: String = secret.map(of_secret).collect();
        format!(
            "- name: WORKER
  valueFrom:
    fieldRef:
      fieldPath: metadata.annotations['batch.kubernetes.io/job-completion-index']
- name: TMPDIR
  value: /tmp
{secret}"
        )
    }
}

/// A text in double quotes, as YAML and JSON both have it.
fn scalar(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Lines of a block, as deep.
fn block(text: &str, by: usize) -> String {
    indented(text.trim_end(), by) + if text.trim_end().is_empty() { "" } else { "\n" }
}

fn indented(text: &str, by: usize) -> String {
    let indent = " ".repeat(by);
    let line = |line: &str| match line.trim_end_matches('\n') {
        "" => "\n".to_owned(),
        _ => format!("{indent}{line}"),
    };
    text.split_inclusive('\n').map(line).collect()
}
