import { UNSEEN } from "../visible.ts";

/**
 * What runs in the browser. It is text here because it is not part of this program: it is sent as it is. A test type-checks it with the browser's
 * own types, and others drive it in a real one. Whatever comes from the server is set as text, never as markup.
 */
export const PAGE_SCRIPT = `"use strict";
(() => {
  /** @typedef {{ key: string, cells: string[], bar?: { cell: number, value: number, max: number }, accelerator?: { name: string, drained: boolean }, instance?: number }} Row */
  /** @typedef {{ rows: Row[], more: number }} Table */
  /** @typedef {{ key: string, title: string, candidates: string[][], more: number }} Decision */
  /** @typedef {{ clock: string, figures: [string, string][], accelerators: Table, frontier: Table, waiting: Table, transfers: Table, decisions: Decision[], happenings: { key: string, text: string }[] }} State */

  const TABLES = /** @type {const} */ (["accelerators", "frontier", "waiting", "transfers"]);
  const readOnly = document.body.dataset["readOnly"] === "true";
  let paused = false;
  /** @type {State | null} */
  let latest = null;

  /** @param {string} id */
  function at(id) {
    const element = document.getElementById(id);
    if (element === null) throw new Error("no element " + id);
    return element;
  }

  /** Names of applications, with each character that nobody sees as JSON writes it. @param {string} text */
  function visible(text) {
    return text.replace(/${UNSEEN}/gu, (character) =>
      Array.from({ length: character.length }, (_, i) => "\\\\u" + character.charCodeAt(i).toString(16).padStart(4, "0")).join(""),
    );
  }

  /**
   * @template {keyof HTMLElementTagNameMap} Name
   * @param {Name} name
   * @param {string} [text]
   */
  function make(name, text) {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = visible(text);
    return element;
  }

  /** @param {Element} element @param {string} text */
  function setText(element, text) {
    const shown = visible(text);
    if (element.textContent !== shown) element.textContent = shown;
  }

  /**
   * Children by key, kept where they are the same, so that focus, open details and selections stay.
   * @template {{ key: string }} Item
   * @param {Element} parent
   * @param {Item[]} items
   * @param {(item: Item) => HTMLElement} create
   * @param {(element: HTMLElement, item: Item) => void} update
   */
  function keyed(parent, items, create, update) {
    /** @type {Map<string, HTMLElement>} */
    const known = new Map();
    for (const child of Array.from(parent.children)) {
      if (child instanceof HTMLElement) known.set(child.dataset["key"] ?? "", child);
    }
    let before = /** @type {Element | null} */ (null);
    for (const item of items) {
      let element = known.get(item.key);
      if (element === undefined) {
        element = create(item);
        element.dataset["key"] = item.key;
      }
      known.delete(item.key);
      update(element, item);
      const place = before === null ? parent.firstElementChild : before.nextElementSibling;
      if (place !== element) parent.insertBefore(element, place);
      before = element;
    }
    for (const element of known.values()) element.remove();
  }

  /** @param {string} id @param {Table} table */
  function showTable(id, table) {
    keyed(at(id), table.rows, (row) => createRow(id, row), updateRow);
    at(id + "-empty").hidden = table.rows.length > 0;
    const more = at(id + "-more");
    more.hidden = table.more === 0;
    setText(more, "and " + table.more + " more");
  }

  /** @param {string} id @param {Row} row */
  function createRow(id, row) {
    const tr = make("tr");
    for (const [index] of row.cells.entries()) {
      const td = index === 0 ? make("th") : make("td");
      if (index === 0) td.setAttribute("scope", "row");
      td.append(make("span"));
      if (row.bar?.cell === index) {
        const bar = make("progress");
        bar.setAttribute("aria-label", visible("HBM in use on " + row.cells[0]));
        td.append(bar);
      }
      tr.append(td);
    }
    if (id === "waiting") tr.append(cellWith(button("Explain", "Explain instance " + row.instance, () => explain(row.instance ?? -1))));
    if (!readOnly && row.accelerator !== undefined) tr.append(cellWith(drainButton(row.accelerator.name)));
    if (!readOnly && row.instance !== undefined) {
      const instance = row.instance;
      tr.append(cellWith(button("Cancel", "Cancel instance " + instance, () => act({ action: "cancel", instance }))));
    }
    return tr;
  }

  /** @param {HTMLElement} child */
  function cellWith(child) {
    const td = make("td");
    td.append(child);
    return td;
  }

  /** @param {string} text @param {string} name @param {() => void} pressed */
  function button(text, name, pressed) {
    const element = make("button", text);
    element.type = "button";
    element.setAttribute("aria-label", visible(name));
    element.addEventListener("click", pressed);
    return element;
  }

  /** @param {string} accelerator */
  function drainButton(accelerator) {
    const element = button("Drain", "Drain " + accelerator, () => {
      act({ action: element.dataset["drained"] === "true" ? "resume" : "drain", accelerator });
    });
    element.className = "drain";
    return element;
  }

  /** @param {HTMLElement} tr @param {Row} row */
  function updateRow(tr, row) {
    for (const [index, text] of row.cells.entries()) {
      const td = tr.children[index];
      const span = td?.firstElementChild;
      if (td === undefined || !span) continue;
      setText(span, text);
      const bar = td.querySelector("progress");
      if (bar !== null && row.bar !== undefined) {
        bar.max = row.bar.max;
        bar.value = row.bar.value;
      }
      if (row.accelerator !== undefined && index === 2) td.className = "state-" + text;
    }
    const drain = tr.querySelector("button.drain");
    if (drain instanceof HTMLElement && row.accelerator !== undefined) {
      const { name, drained } = row.accelerator;
      drain.dataset["drained"] = String(drained);
      setText(drain, drained ? "Resume" : "Drain");
      drain.setAttribute("aria-label", visible((drained ? "Resume " : "Drain ") + name));
    }
  }

  /** @param {Element} parent @param {Decision[]} decisions */
  function showDecisions(parent, decisions) {
    keyed(parent, decisions, decisionElement, () => {});
  }

  /** @param {Decision} decision */
  function decisionElement(decision) {
    const details = make("details");
    details.append(make("summary", decision.title));
    details.append(plainTable(["Partition", "Ends on average in", "Bytes moved", "Why"], decision.candidates));
    if (decision.more > 0) details.append(make("p", "and " + decision.more + " more candidates"));
    return details;
  }

  /** @param {string[]} columns @param {string[][]} rows */
  function plainTable(columns, rows) {
    const table = make("table");
    const head = make("tr");
    for (const column of columns) {
      const th = make("th", column);
      th.setAttribute("scope", "col");
      head.append(th);
    }
    const thead = make("thead");
    thead.append(head);
    const tbody = make("tbody");
    for (const cells of rows) {
      const tr = make("tr");
      for (const text of cells) tr.append(make("td", text));
      tbody.append(tr);
    }
    table.append(thead, tbody);
    const wide = make("div");
    wide.className = "wide";
    wide.tabIndex = 0;
    wide.append(table);
    return wide;
  }

  /** @param {State} state */
  function show(state) {
    setText(at("clock"), state.clock);
    const figures = state.figures.map(([name, value]) => ({ key: name, value }));
    keyed(at("figures"), figures, createFigure, (element, { value }) => {
      const dd = element.lastElementChild;
      if (dd) setText(dd, value);
    });
    for (const id of TABLES) showTable(id, state[id]);
    showDecisions(at("decisions"), state.decisions);
    at("decisions-empty").hidden = state.decisions.length > 0;
    keyed(at("happenings"), state.happenings, ({ text }) => make("li", text), () => {});
    at("happenings-empty").hidden = state.happenings.length > 0;
  }

  /** @param {{ key: string }} figure */
  function createFigure({ key }) {
    const div = make("div");
    div.append(make("dt", key), make("dd"));
    return div;
  }

  /** @param {string} text @param {string} name */
  function setStatus(text, name) {
    const status = at("status");
    setText(status, text);
    status.className = name;
  }

  /** @param {number} instance */
  async function explain(instance) {
    const input = at("instance");
    if (input instanceof HTMLInputElement) input.value = String(instance);
    const region = at("explanation");
    region.replaceChildren(make("p", "Asking"));
    try {
      const response = await fetch("/api/instances/" + instance, { headers: { accept: "application/json" } });
      const answer = await response.json();
      region.replaceChildren();
      if (!response.ok) {
        region.append(make("p", answer.error.message));
        return;
      }
      region.append(make("h3", answer.title));
      /** @type {Row[]} */
      const rows = answer.operators.rows;
      const columns = ["Operator", "State", "Accelerator", "Issued at", "Started at", "Done at", "Waits for"];
      region.append(rows.length > 0 ? plainTable(columns, rows.map(({ cells }) => cells)) : make("p", "Its operators have left the graph."));
      if (answer.operators.more > 0) region.append(make("p", "and " + answer.operators.more + " more operators"));
      for (const decision of answer.decisions) region.append(decisionElement(decision));
    } catch (error) {
      region.replaceChildren(make("p", "It could not be asked: " + String(error)));
    }
  }

  /** @param {object} action */
  async function act(action) {
    const answer = at("answer");
    const token = at("token");
    if (!(token instanceof HTMLInputElement) || token.value === "") {
      setText(answer, "Enter the token first.");
      token.focus();
      return;
    }
    setText(answer, "Asking");
    try {
      const response = await fetch("/api/actions", {
        method: "POST",
        headers: { "content-type": "application/json", authorization: "Bearer " + token.value },
        body: JSON.stringify(action),
      });
      const { error } = await response.json();
      setText(answer, error === undefined ? "Done: " + JSON.stringify(action) : error.message);
    } catch (error) {
      setText(answer, "It could not be asked: " + String(error));
    }
  }

  at("pause").addEventListener("click", () => {
    paused = !paused;
    at("pause").setAttribute("aria-pressed", String(paused));
    setText(at("pause"), paused ? "Go on" : "Pause");
    if (paused) setStatus("Paused", "");
    else if (latest !== null) {
      setStatus("Live", "live");
      show(latest);
    }
  });
  at("explain").addEventListener("submit", (event) => {
    event.preventDefault();
    const input = at("instance");
    if (input instanceof HTMLInputElement) explain(Number(input.value));
  });

  const source = new EventSource("/events");
  source.addEventListener("state", (event) => {
    latest = JSON.parse(event.data);
    if (paused || latest === null) return;
    setStatus("Live", "live");
    show(latest);
  });
  source.addEventListener("error", () => setStatus("Connection lost, trying again", "lost"));
})();
`;
