/** Pages through the decisions of a policy. */
import type { CandidateMeta, DecisionMeta, DecisionsMeta } from "../shared/blocks.ts";
import { formatBytes, formatCount, formatNs, formatTime } from "../shared/format.ts";
import { create, find, nameElement } from "./dom.ts";

export class DecisionPager {
  readonly #byPolicy = new Map<number, DecisionsMeta>();
  readonly #policy = find("[data-decision-policy]", HTMLSelectElement);
  readonly #filter = find("[data-decision-filter]", HTMLSelectElement);
  readonly #words = find("[data-decision-words]", HTMLElement);
  readonly #place = find("[data-decision]", HTMLElement);
  readonly #position = find("[data-decision-position]", HTMLElement);
  readonly #spanNs: number;
  #at = 0;

  /** @param first Index of the policy that is shown first. @param spanNs Of the longest run. */
  constructor(first: number, spanNs: number) {
    this.#spanNs = spanNs;
    this.#policy.value = String(first);
    for (const select of [this.#policy, this.#filter])
      select.addEventListener("change", () => {
        this.#at = 0;
        this.#show();
      });
    for (const button of document.querySelectorAll("button[data-decision-step]"))
      button.addEventListener("click", () => {
        this.#at += Number(button.getAttribute("data-decision-step"));
        this.#show();
      });
  }

  add(policy: number, decisions: DecisionsMeta): void {
    this.#byPolicy.set(policy, decisions);
    if (Number(this.#policy.value) === policy) this.#show();
  }

  #show(): void {
    const decisions = this.#byPolicy.get(Number(this.#policy.value))?.shown ?? [];
    const list = decisions.filter(filters[this.#filter.value] ?? (() => true));
    // Round and round.
    this.#at = list.length === 0 ? 0 : (this.#at + list.length) % list.length;
    const decision = list[this.#at];
    this.#position.textContent = decision === undefined ? "none" : `${this.#at + 1} of ${formatCount(list.length)}`;
    if (decision === undefined) {
      this.#words.textContent = "There is no such decision.";
      this.#place.replaceChildren();
    } else {
      const which = `Decision ${this.#at + 1} of ${formatCount(list.length)}. `;
      const unseen = create("span", { className: "unseen", textContent: which });
      this.#words.replaceChildren(unseen, ...sentence(decision, this.#spanNs));
      this.#place.replaceChildren(candidateTable(decision));
    }
  }
}

const filters: Readonly<Record<string, (decision: DecisionMeta) => boolean>> = {
  choice: ({ candidates }) => candidates.length > 1,
  rejecting: ({ candidates }) => candidates.some(({ verdict }) => verdict === "rejected"),
};

/** All that is announced: the table is there to be read by who wants it. */
function sentence(decision: DecisionMeta, spanNs: number): (Node | string)[] {
  const { atNs, round, instance, batch, partition, candidates } = decision;
  return [
    `At ${formatTime(atNs, 1e6, spanNs)}, round ${formatCount(round)}: instance ${instance}, `,
    nameElement(batch),
    " went to ",
    create("b", {}, nameElement(partition)),
    candidates.length === 1 ? ", the only partition there was." : `, one of ${candidates.length} partitions.`,
  ];
}

function candidateTable({ candidates }: DecisionMeta): HTMLElement {
  const head = create("tr");
  for (const title of titles) {
    const cell = create("th", { textContent: title, className: title === "Why not" ? "words" : "" });
    cell.scope = "col";
    head.append(cell);
  }
  const best = (it: CandidateMeta): number => (it.verdict === "chosen" ? -1 : (it.scoreNs ?? Number.MAX_VALUE));
  const rows = [...candidates].sort((a, b) => best(a) - best(b)).map(candidateRow);
  const table = create("table", {}, create("thead", {}, head), create("tbody", {}, ...rows));
  const scroll = create("div", { className: "scroll candidates" }, table);
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Candidates of the decision");
  keepRoles(table);
  return scroll;
}

const titles = ["Partition", "Verdict", "Predicted completion", "Bytes to move", "Why not"];

function candidateRow({ partition, verdict, scoreNs, movedBytes, why }: CandidateMeta): HTMLElement {
  const name = create("th", {}, nameElement(partition));
  name.scope = "row";
  const texts = [verdict, scoreNs === null ? "–" : `in ${formatNs(scoreNs)}`, formatBytes(movedBytes)];
  const cells = texts.map((text) => create("td", { textContent: text }));
  const last = create("td", { className: "words" }, nameElement(why));
  // Where the window is narrow a row is a block, and each cell tells its own title.
  [...cells, last].forEach((cell, i) => {
    cell.dataset["title"] = titles[i + 1] ?? "";
  });
  if (why === "") last.classList.add("nothing");
  return create("tr", { className: verdict.replaceAll(" ", "-") }, name, ...cells, last);
}

/** A table that is not laid out as one is none for a screen reader unless told so. */
function keepRoles(table: HTMLElement): void {
  const roles: Readonly<Record<string, string>> = { thead: "rowgroup", tbody: "rowgroup", tr: "row", td: "cell" };
  table.setAttribute("role", "table");
  for (const [tag, role] of Object.entries(roles))
    for (const element of table.querySelectorAll(tag)) element.setAttribute("role", role);
  for (const cell of table.querySelectorAll("th"))
    cell.setAttribute("role", cell.scope === "col" ? "columnheader" : "rowheader");
}
