/** Kubernetes objects as plain data. */

/** A plain object with the properties of one of the client library's classes. The API accepts plain objects too. */
export type Plain<T> = T extends Date
  ? T
  : T extends (infer E)[]
    ? Plain<E>[]
    : T extends object
      ? { [K in keyof T]: Plain<T[K]> }
      : T;
