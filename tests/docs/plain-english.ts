/** Phrases that a reader of English has to read twice. */

/** Finds "is no size", which should be "is not a size", and "TLS alone", which should be "only TLS". */
export const PUZZLING =
  /(?<!there )\b(?:is|are|was|were) (?:no (?!longer|more|less|wider|copy)|none\b)|\w+ alone(?=[.,;:)])/gi;
