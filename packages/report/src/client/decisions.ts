/** Pages through the decisions of a policy. */
import type { CandidateMeta, DecisionMeta, DecisionsMeta } from "../shared/blocks.ts";
import { formatBytes, formatClock, formatCount, formatNs } from "../shared/format.ts";
import { create, find, nameElement } from "./dom.ts";

export class DecisionPager {
  readonly #byPolicy = new Map<number, DecisionsMeta>();
  readonly #policy = find("[data-decision-policy]", HTMLSelectElement);
  readonly #filter = find("[data-decision-filter]", HTMLSelectElement);
  readonly #place = find("[data-decision]", HTMLElement);
  readonly #position = find("[data-decision-position]", HTMLElement);
  #at = 0;

  /** @param first Index of the policy that is shown first. */
  constructor(first: number) {
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
    const isWanted = (it: DecisionMeta): boolean =>
      this.#filter.value === "all" || it.candidates.some(({ verdict }) => verdict === "rejected");
    const list = decisions.filter(isWanted);
    // Round and round.
    this.#at = list.length === 0 ? 0 : (this.#at + list.length) % list.length;
    const decision = list[this.#at];
    this.#position.textContent = decision === undefined ? "none" : `${this.#at + 1} of ${formatCount(list.length)}`;
    this.#place.replaceChildren(...(decision === undefined ? [nothing()] : decisionElements(decision)));
  }
}

function nothing(): HTMLElement {
  return create("p", { className: "note", textContent: "There is no such decision." });
}

function decisionElements(decision: DecisionMeta): HTMLElement[] {
  const { atNs, round, instance, batch, partition, candidates } = decision;
  const lead = create("p");
  lead.append(
    `At ${formatClock(atNs, 1e6)}, round ${formatCount(round)}: instance ${instance}, `,
    nameElement(batch),
    " went to ",
    create("b", {}, nameElement(partition)),
    candidates.length === 1 ? ", the only partition there was." : `, one of ${candidates.length} partitions.`,
  );
  const head = create("tr");
  for (const title of ["Partition", "Verdict", "Predicted completion", "Bytes to move", "Why not"]) {
    const cell = create("th", { textContent: title, className: title === "Why not" ? "words" : "" });
    cell.scope = "col";
    head.append(cell);
  }
  const best = (it: CandidateMeta): number => (it.verdict === "chosen" ? -1 : (it.scoreNs ?? Number.MAX_VALUE));
  const rows = [...candidates].sort((a, b) => best(a) - best(b)).map(candidateRow);
  const table = create("table", {}, create("thead", {}, head), create("tbody", {}, ...rows));
  const scroll = create("div", { className: "scroll" }, table);
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Candidates of the decision");
  return [lead, scroll];
}

function candidateRow({ partition, verdict, scoreNs, movedBytes, why }: CandidateMeta): HTMLElement {
  const name = create("th", {}, nameElement(partition));
  name.scope = "row";
  const cell = (text: string): HTMLElement => create("td", { textContent: text });
  const row = create(
    "tr",
    { className: verdict.replaceAll(" ", "-") },
    name,
    cell(verdict),
    cell(scoreNs === null ? "–" : `in ${formatNs(scoreNs)}`),
    cell(formatBytes(movedBytes)),
    create("td", { className: "words" }, nameElement(why)),
  );
  return row;
}
