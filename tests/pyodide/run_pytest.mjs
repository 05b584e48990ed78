// Runs pytest under Pyodide in Node: node run_pytest.mjs PYODIDE REPOSITORY PACKAGES [arguments of pytest...]
// PYODIDE holds Pyodide's files, PACKAGES the pure Python packages that pytest needs.
const [pyodide, repository, packages, ...options] = process.argv.slice(2);
const { loadPyodide } = await import(`file://${pyodide}/pyodide.mjs`);
const python = await loadPyodide({ indexURL: pyodide });
const errors = [];
await python.loadPackage("numpy", { messageCallback() {}, errorCallback: (text) => errors.push(text) });
if (errors.length) throw new Error(errors.join("\n"));
python.mountNodeFS("/repository", repository);
python.mountNodeFS("/packages", packages);
python.globals.set("options", python.toPy(options));
process.exit(
  python.runPython(`
import os, sys
sys.path[:0] = ["/repository", "/packages"]
sys.dont_write_bytecode = True
os.chdir("/repository")
import pytest
int(pytest.main(["-p", "no:cacheprovider", "--capture=sys", *options]))
`),
);
