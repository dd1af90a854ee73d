/** The API accepts plain objects too. */
export type Plain<T> = T extends Date
  ? T
  : T extends (infer E)[]
    ? Plain<E>[]
    : T extends object
      ? { [K in keyof T]: Plain<T[K]> }
      : T;
