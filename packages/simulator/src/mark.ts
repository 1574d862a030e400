/** How much was declared at some moment. */
export interface Mark {
  readonly operators: number;
  readonly inputs: number;
  readonly tensors: number;
  readonly copies: number;
  readonly transfers: number;
}
