/** Quotes a text in a displayed command, to be pasted into a shell. */

/** The text as one shell word, quoted if it contains a special character. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
