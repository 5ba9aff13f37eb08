"use strict";
// Small helps for pages that work without them: live lists, copying, the slider, completion, the steps of the story.

document.documentElement.classList.remove("no-script");

const csrf = document.querySelector('meta[name="csrf"]')?.content ?? "";

async function post(place, form) {
  const body = form instanceof FormData ? form : new FormData(form);
  if (!body.has("csrf")) body.set("csrf", csrf);
  const headers = { "X-Wants": "fragment" };
  return fetch(place, { method: "POST", body: new URLSearchParams(body), headers, credentials: "same-origin" });
}

// Lists and jobs that change while somebody looks
for (const box of document.querySelectorAll("[data-live]")) {
  const source = new EventSource(box.dataset.live);
  source.addEventListener("change", (event) => { box.innerHTML = JSON.parse(event.data); });
  source.addEventListener("end", () => {
    source.close();
    if (box.dataset.reload) location.reload();
  });
}

for (const box of document.querySelectorAll("[data-again]")) {
  setTimeout(() => location.reload(), 1000 * Number(box.dataset.again));
}

// Copying a key
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy).textContent.trim();
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
      button.textContent = "Press Ctrl+C to copy";
    }
  });
}

// The token of a setup link is behind the # and goes into the form, not into an address
const token = document.querySelector("[data-token]");
if (token && location.hash.length > 1) {
  token.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
}

// A form that is sent once
for (const form of document.querySelectorAll("form[data-once]")) {
  form.addEventListener("submit", () => {
    for (const button of form.querySelectorAll("button")) setTimeout(() => { button.disabled = true; }, 0);
  });
}

// Another method has other settings
for (const one of document.querySelectorAll("[data-refresh]")) {
  one.addEventListener("change", () => { one.form.action = one.getAttribute("data-refresh"); one.form.submit(); });
}

// On a phone the current page is in view in the menu
const current = document.querySelector(".side nav [aria-current]");
if (current) {
  const strip = current.closest("nav");
  strip.scrollLeft = current.offsetLeft - strip.offsetLeft - (strip.clientWidth - current.offsetWidth) / 2;
}

// Choosing ε. The form has a field called "dataset", which hides the property of that name.
const chooser = document.querySelector("form[data-estimate]");
if (chooser) {
  const slider = chooser.querySelector('input[type="range"]');
  const number = chooser.querySelector('input[name="epsilon"]');
  const result = document.getElementById("estimate");
  const stops = slider.dataset.stops.split(" ");
  let timer = 0, asked = 0;
  const tell = () => slider.setAttribute("aria-valuetext", `ε = ${number.value}`);
  const estimate = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const turn = ++asked;
      result.setAttribute("aria-busy", "true");
      const answer = await post(chooser.getAttribute("data-estimate"), chooser);
      const html = await answer.text();
      if (turn === asked && answer.ok) result.innerHTML = html;
      result.setAttribute("aria-busy", "false");
    }, 180);
  };
  slider.closest(".slider").hidden = false;
  slider.addEventListener("input", () => { number.value = stops[Number(slider.value)]; tell(); estimate(); });
  number.addEventListener("input", () => {
    const value = Number(number.value);
    if (value > 0) {
      const gaps = stops.map((one) => Math.abs(Math.log(Number(one)) - Math.log(value)));
      slider.value = String(gaps.indexOf(Math.min(...gaps)));
    }
    tell(); estimate();
  });
  for (const one of chooser.querySelectorAll("details input, details select, details textarea, input[name=delta]")) {
    one.addEventListener("change", estimate);
  }
  tell();
}

// Asking a model: completion of items, and the answer beside the form
const ask = document.querySelector("form[data-ask]");
if (ask) {
  const input = ask.querySelector('input[name="text"]');
  const list = ask.querySelector('ul[role="listbox"]');
  const chips = ask.querySelector(".chips");
  const result = document.getElementById("answer");
  let options = [], active = -1, timer = 0;

  const close = () => {
    list.hidden = true; active = -1;
    input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant");
  };
  const mark = (place) => {
    active = place;
    [...list.children].forEach((one, at) => one.setAttribute("aria-selected", String(at === place)));
    if (place >= 0) {
      input.setAttribute("aria-activedescendant", list.children[place].id);
      list.children[place].scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
  };
  const add = (id, title) => {
    if ([...chips.querySelectorAll("input")].some((one) => one.value === id)) return;
    const chip = document.createElement("li"), hidden = document.createElement("input"), drop = document.createElement("button");
    hidden.type = "hidden"; hidden.name = "item"; hidden.value = id;
    drop.type = "button"; drop.textContent = "×"; drop.setAttribute("aria-label", `Remove ${title || id}`);
    chip.append(document.createTextNode(title || id), hidden, drop);
    chips.append(chip);
  };
  const choose = (place) => {
    add(options[place].id, options[place].title);
    input.value = ""; close(); input.focus();
  };
  const complete = async () => {
    const text = input.value.split(",").pop().trim();
    if (!text) { close(); return; }
    const body = new FormData();
    body.set("text", text);
    const answer = await post(ask.getAttribute("data-ask"), body);
    if (!answer.ok || input.value.split(",").pop().trim() !== text) return;
    options = await answer.json();
    list.replaceChildren(...options.map((one, place) => {
      const item = document.createElement("li"), id = document.createElement("span");
      item.id = `option-${place}`; item.setAttribute("role", "option"); item.setAttribute("aria-selected", "false");
      id.textContent = one.title ? one.id : "";
      item.append(document.createTextNode(one.title || one.id), id);
      item.addEventListener("mousedown", (event) => { event.preventDefault(); choose(place); });
      return item;
    }));
    list.hidden = options.length === 0;
    input.setAttribute("aria-expanded", String(options.length > 0));
    mark(-1);
  };

  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(complete, 120); });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (list.hidden) return;
    if (event.key === "ArrowDown") { event.preventDefault(); mark((active + 1) % options.length); }
    if (event.key === "ArrowUp") { event.preventDefault(); mark((active + options.length - 1) % options.length); }
    if (event.key === "Enter" && active >= 0) { event.preventDefault(); choose(active); }
  });
  chips.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) { button.closest("li").remove(); input.focus(); }
  });
  ask.addEventListener("submit", async (event) => {
    event.preventDefault(); close();
    result.setAttribute("aria-busy", "true");
    const answer = await post(ask.action, ask);
    result.innerHTML = await answer.text();
    result.setAttribute("aria-busy", "false");
  });
}

// The steps of the story
const story = document.querySelector("[data-story]");
if (story) {
  const steps = [...story.querySelectorAll(".step")];
  const buttons = [...story.querySelectorAll(".steps button")];
  const show = (place) => {
    steps.forEach((one, at) => one.classList.toggle("now", at === place));
    buttons.forEach((one, at) => at === place ? one.setAttribute("aria-current", "step") : one.removeAttribute("aria-current"));
  };
  buttons.forEach((one, at) => one.addEventListener("click", () => show(at)));
  for (const one of story.querySelectorAll("[data-step]")) {
    one.addEventListener("click", () => { show(Number(one.dataset.step)); buttons[Number(one.dataset.step)].focus(); });
  }
  story.querySelector(".steps").hidden = false;
  show(0);
}
