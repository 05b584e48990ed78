// Runs pytest under Pyodide in Node: node run_pytest.mjs PYODIDE REPOSITORY PACKAGES [arguments of pytest...]
// PYODIDE holds Pyodide's files, PACKAGES the pure Python packages that pytest needs. Other solvers and SciPy, which no
// page loads, are stood in for by modules of which every use skips the test.
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
import os, sys, types
sys.path[:0] = ["/repository", "/repository/tests", "/packages"]
sys.dont_write_bytecode = True
os.chdir("/repository")
import pytest

class Absent(types.ModuleType):
    __path__ = []
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: pytest.skip(f"needs {self.__name__}, which no page loads")

for name in ("cvxpy", "joblib", "scipy", "scipy.integrate", "scipy.linalg", "scipy.optimize", "scipy.sparse",
             "scipy.sparse.csgraph", "scipy.special"):
    sys.modules[name] = Absent(name)
int(pytest.main(["-p", "no:cacheprovider", "--capture=sys", *options]))
`),
);
