/** A piece of work that could go into a slice. */
export interface Piece {
  readonly durationNs: number;
  /** How long the slice has to be for it; less than the duration where it may end a little late. */
  readonly neededNs: number;
}

/**
 * Which piece to begin a slice with: the one after which the slice is filled most, when longer pieces go before shorter ones then; the
 * first among equals. −1 where none fits. O(pieces²).
 */
export function bestFill(pieces: readonly Piece[], sliceNs: number): number {
  const longestFirst = pieces.map((piece, index) => ({ piece, index }));
  longestFirst.sort((a, b) => b.piece.durationNs - a.piece.durationNs || a.index - b.index);
  let best = -1;
  let bestNs = 0;
  pieces.forEach((first, index) => {
    if (first.neededNs > sliceNs) return;
    let filledNs = first.durationNs;
    for (const other of longestFirst) {
      if (other.index !== index && other.piece.neededNs <= sliceNs - filledNs) filledNs += other.piece.durationNs;
    }
    if (filledNs > bestNs) {
      best = index;
      bestNs = filledNs;
    }
  });
  return best;
}
