/** What executors have, by priority class: how many of each, and which could be displaced. */
import type { OperatorNode } from "./nodes.ts";
import type { IssueNumber } from "./types.ts";

export class IssuedByClass {
  readonly #issued: ReadonlyMap<IssueNumber, OperatorNode>;
  readonly #counts: number[] = [];
  /**
   * Rising issue numbers of each class. They stay when an operator has ended or is in another class now, and are told apart by
   * looking it up: numbers are given once. A list is cleared out when it is more than twice as long as it need be, so that an issue
   * costs one push.
   */
  readonly #numbers: IssueNumber[][] = [];

  /** @param issued Operators that executors have. */
  constructor(issued: ReadonlyMap<IssueNumber, OperatorNode>) {
    this.#issued = issued;
  }

  countOf(rank: number): number {
    return this.#counts[rank] ?? 0;
  }

  /** It was issued just now, after all others. */
  add({ rank, issueNumber }: OperatorNode): void {
    this.#count(rank, 1);
    this.#listOf(rank).push(issueNumber);
  }

  /** It has ended, or was given back. */
  remove({ rank }: OperatorNode): void {
    this.#count(rank, -1);
  }

  /** Its class was another one before. Linear in its class at worst. */
  move({ rank, issueNumber }: OperatorNode, before: number): void {
    this.#count(before, -1);
    this.#count(rank, 1);
    const numbers = this.#listOf(rank);
    const at = numbers.findLastIndex((number) => number <= issueNumber);
    if (numbers[at] !== issueNumber) numbers.splice(at + 1, 0, issueNumber);
  }

  /**
   * Those that have not started, were not asked back and are of a less urgent class: the least urgent class first, in it the latest issued.
   * Valid until something is issued or changes its class.
   */
  *displaceable(rank: number): IterableIterator<OperatorNode> {
    for (let each = this.#numbers.length - 1; each > rank; each--) {
      if (this.countOf(each) === 0) continue;
      const numbers = this.#numbers[each] as IssueNumber[];
      for (let at = numbers.length - 1; at >= 0; at--) {
        const operator = this.#issued.get(numbers[at] as IssueNumber);
        if (operator !== undefined && operator.rank === each && isDisplaceable(operator)) yield operator;
        else if (operator === undefined && at === numbers.length - 1) numbers.pop();
      }
    }
  }

  #count(rank: number, change: number): void {
    // Without holes, which would make the array a slow one.
    while (this.#counts.length <= rank) {
      this.#counts.push(0);
      this.#numbers.push([]);
    }
    this.#counts[rank] = (this.#counts[rank] as number) + change;
  }

  #listOf(rank: number): IssueNumber[] {
    const numbers = this.#numbers[rank] as IssueNumber[];
    if (numbers.length <= LIST_MIN + 2 * this.countOf(rank)) return numbers;
    const kept = numbers.filter((number) => this.#issued.get(number)?.rank === rank);
    this.#numbers[rank] = kept;
    return kept;
  }
}

/** It has not started and was not asked back. */
export function isDisplaceable({ state, startedNs, recalled }: OperatorNode): boolean {
  return state === "issued" && startedNs < 0 && !recalled;
}

/** Shorter ones are not worth clearing out. */
const LIST_MIN = 64;
