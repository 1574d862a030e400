/** What the arbiter needs to know of the cluster: ports and links as small integers. */
export interface Topology {
  readonly accelerators: number;
  /** Per accelerator: transfers it can send at once, and as many it can receive. */
  readonly portCapacity: readonly number[];
  /** Per link: transfers on it at once. */
  readonly linkCapacity: readonly number[];
  /** Links on the way, possibly none; undefined when there is no way from source to destination. */
  route(source: number, destination: number): readonly number[] | undefined;
}

export interface Intent {
  readonly transfer: number;
  readonly source: number;
  readonly destination: number;
  readonly bytes: number;
  /** Priority class, 0 is the most urgent. */
  readonly rank: number;
}

export interface ArbitrationOptions {
  /** An intent's effective rank falls by one for each `agingNs` waited. Default 1 s. */
  readonly agingNs?: number;
  /** An intent that waited this long reserves its ports and links. Default 4 s. */
  readonly reserveNs?: number;
}
