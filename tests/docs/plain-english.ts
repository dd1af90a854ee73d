/** Phrases that a reader of English has to read twice. */

/** "is no size" for "is not a size", "TLS alone" for "only TLS". */
export const PUZZLING =
  /(?<!there )\b(?:is|are|was|were) (?:no (?!longer|more|less|wider|copy)|none\b)|\w+ alone(?=[.,;:)])/gi;
