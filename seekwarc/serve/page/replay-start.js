// What the frame of the replay page holds first: starts the service worker, and tells that page.

/** Milliseconds until a worker that does not answer is given up. */
const PATIENCE = 20_000;

async function start() {
  const workers = navigator.serviceWorker;
  if (!workers) {
    throw new Error(
      isSecureContext
        ? "This browser has service workers switched off, as some do in private windows: open this address in another window."
        : `Replay needs a service worker, which browsers allow over https, and on the computer of the server.`,
    );
  }
  const added = new Promise((done, failed) => {
    setTimeout(() => failed(new Error("The service worker does not answer: reload this page.")), PATIENCE);
    workers.addEventListener("message", (event) => event.data.msg_type === "collAdded" && done());
  });
  workers.startMessages();
  await workers.register("/sw.js?replayPrefix=", { scope: "/" });
  // Not the controller: a page that was reloaded past the cache has none, and what follows is controlled all the same.
  (await workers.ready).active.postMessage(JSON.parse(document.querySelector("meta[name=collection]").content));
  await added;
}

start().then(
  () => parent.postMessage({ wb_type: "ready" }, "*"),
  (error) => parent.postMessage({ wb_type: "failed", text: error.message }, "*"),
);
