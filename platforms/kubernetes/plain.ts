/** Objects of the API as plain data. */

/** The client's types are classes, of which it makes instances when it reads; what is written may be any object of their shape. */
export type Plain<T> = T extends Date
  ? T
  : T extends (infer E)[]
    ? Plain<E>[]
    : T extends object
      ? { [K in keyof T]: Plain<T[K]> }
      : T;
