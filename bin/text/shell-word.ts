/** A text in a command that is shown, to be copied into a shell. */

/** As a shell takes it for one word: in quotes, if anything in it means something to a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
