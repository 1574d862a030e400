/** Bytes per accelerator of the cluster; what a shorter vector lacks is 0. */

export function addInto(target: Float64Array, bytes: Float64Array): void {
  for (let a = 0; a < target.length; a++) target[a] = (target[a] as number) + (bytes[a] ?? 0);
}

export function subtractFrom(target: Float64Array, bytes: Float64Array): void {
  for (let a = 0; a < target.length; a++) target[a] = (target[a] as number) - (bytes[a] ?? 0);
}

export function maxInto(target: Float64Array, bytes: Float64Array): void {
  for (let a = 0; a < target.length; a++) target[a] = Math.max(target[a] as number, bytes[a] ?? 0);
}
