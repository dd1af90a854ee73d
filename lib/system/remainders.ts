/**
 * Tells what stays on servers of others if this process ends at once. Each function returns lines that say what it is and how
 * to remove it.
 */
export const remainders = new Set<() => readonly string[]>();
