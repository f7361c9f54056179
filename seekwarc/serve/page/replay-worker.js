// The service worker of the replay origin: guards wabac.js, which it loads. Archived scripts can send messages and
// requests to a worker, and change what it keeps. So whatever may change its collection ends here, and no document
// or worker is without the policy that keeps it from other hosts.

const COLLECTION = $CONFIGURATION;
const DOCUMENTS = ["document", "iframe", "frame", "object", "embed", "worker", "sharedworker"];

addEventListener("message", (event) => {
  if (JSON.stringify(event.data) !== JSON.stringify(COLLECTION)) event.stopImmediatePropagation();
});

addEventListener("fetch", (event) => {
  if (!new URL(event.request.url).pathname.startsWith("/api/")) return;
  event.stopImmediatePropagation();
  event.respondWith(new Response(null, { status: 403 }));
});

const { respondWith } = FetchEvent.prototype;
FetchEvent.prototype.respondWith = function (answer) {
  const isDocument = DOCUMENTS.includes(this.request.destination);
  respondWith.call(this, isDocument ? Promise.resolve(answer).then(withPolicy) : answer);
};

function withPolicy(response) {
  // A redirect that the browser follows has nothing to guard.
  if (!response.status) return response;
  const { status, statusText, body } = response;
  const headers = new Headers(response.headers);
  headers.append("content-security-policy", COLLECTION.extraConfig.csp);
  return new Response(body, { status, statusText, headers });
}

importScripts("/wabac.js");
