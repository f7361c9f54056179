// What the page finds goes into #out.
const found = {};

const tried = async (name, work) => {
  try {
    found[name] = await work();
  } catch (error) {
    found[name] = `${error}`;
  }
};

const search = (query) => new Promise((done) => {
  const request = new XMLHttpRequest();
  request.open("POST", "/api/search");
  request.setRequestHeader("Content-Type", "application/x-www-form-urlencoded");
  request.onloadend = () => done(`${request.status} ${request.responseText}`);
  request.send(`q=${query}`);
});

const json = async (address) => (await fetch(address)).json();

const posted = async () => {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch("/api/json", { method: "POST", headers, body: JSON.stringify({ a: 1, b: { c: "x" } }) });
  return answer.text();
};

const range = async () => {
  const answer = await fetch("/img/red.png", { headers: { Range: "bytes=1-3" } });
  return `${answer.status} ${answer.headers.get("Content-Range")} ${await answer.text()}`;
};

(async () => {
  document.cookie = "ours=1";
  found.place = location.href;
  found.cookies = document.cookie;
  await tried("busted", async () => (await json(`/api/data.json?_=${Date.now()}`)).name);
  await tried("rows", async () => (await json("//cdn.example.net/rows.json")).length);
  await tried("cats", () => search("cats"));
  await tried("dogs", () => search("dogs"));
  await tried("posted", posted);
  await tried("range", range);
  await tried("font", async () => (await document.fonts.load("24px Test")).length);
  document.getElementById("out").textContent = JSON.stringify(found, null, 1);
})();
