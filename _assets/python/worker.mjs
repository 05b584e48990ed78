// Python in a worker: loads Pyodide, NumPy and the book's library, then answers the messages of explorables.
// The page sends {kind: "start", pyodide, wheel} once, then requests as in attsvm_lib/explore/live.py. Replies
// are those of live.py; on the way {kind: "progress", text}, with the id of a request for which a package has to be
// loaded; {kind: "failed", text, url} when the start failed, with the address it was loading from, if it was.

// What a scene may import that is not there from the start: loaded when one does.
const ON_DEMAND = { scipy: "SciPy, 20 MB" };

const GLUE = `
import json
from attsvm_lib import scenes
from attsvm_lib.explore.live import answer

def respond(text):
    message = json.loads(text)
    try:
        function = scenes.get(message["scene"])
    except ValueError as error:
        return json.dumps({"kind": "error", "id": message["id"], "text": str(error)}), []
    reply, buffers = answer(function, message)
    return json.dumps(reply), buffers

respond
`;

let python, respond, source;
const say = (text) => postMessage({ kind: "progress", text });

async function start({ pyodide: indexURL, wheel }) {
  source = indexURL;
  say("1 of 4: Python, 6 MB");
  const { loadPyodide } = await import(`${indexURL}pyodide.mjs`);
  python = await loadPyodide({ indexURL });
  say("2 of 4: NumPy, 3 MB");
  await load("numpy");
  source = wheel;
  say("3 of 4: the library");
  const response = await fetch(wheel);
  if (!response.ok) throw new Error(`${wheel}: HTTP ${response.status}`);
  python.unpackArchive(await response.arrayBuffer(), "wheel");
  source = null;
  say("4 of 4: starting it");
  respond = python.runPython(GLUE);
}

// `loadPackage` resolves even when a file is missing or its checksum is wrong.
async function load(name) {
  const errors = [];
  await python.loadPackage(name, { messageCallback() {}, errorCallback: (text) => errors.push(text) });
  if (!(name in python.loadedPackages)) throw new Error(errors.join("; ") || `${name} could not be loaded`);
}

// The library's reply to a message, and its numbers.
function ask(message) {
  const pair = respond(JSON.stringify(message)),
    [text, buffers] = pair.toJs();
  pair.destroy();
  return { ...JSON.parse(text), buffers: buffers.map((bytes) => new Float64Array(bytes.slice().buffer)) };
}

async function reply(message) {
  let answer = ask(message);
  const name = answer.module?.split(".")[0];
  if (name in ON_DEMAND && !(name in python.loadedPackages)) {
    postMessage({ kind: "progress", id: message.id, text: ON_DEMAND[name] });
    try {
      await load(name);
      postMessage({ kind: "progress", id: message.id, text: "" });
      answer = ask(message);
    } catch (error) {
      answer = { kind: "error", id: message.id, text: `${name} could not be loaded: ${error.message}`, buffers: [] };
    }
  }
  postMessage(
    answer,
    answer.buffers.map((n) => n.buffer),
  );
}

onmessage = async ({ data }) => {
  if (data.kind !== "start") return reply(data);
  try {
    await start(data);
    postMessage({ kind: "alive" });
  } catch (error) {
    postMessage({ kind: "failed", text: error.message, url: source });
  }
};
