/** How many columns of a terminal a text takes, and texts cut to a number of columns. Pure. */

/** Scripts and emoji whose characters take two columns (Unicode's East Asian Width W and F). */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
/** Marks that are drawn over the character before them, and joiners. */
const none = /[\p{M}\u200b-\u200f]/u;
const ascii = /^[\u0020-\u007e]*$/;

export function displayWidth(text: string): number {
  if (ascii.test(text)) return text.length;
  let columns = 0;
  for (const character of text) columns += columnsOf(character);
  return columns;
}

function columnsOf(character: string): number {
  return none.test(character) ? 0 : wide.test(character) ? 2 : 1;
}

/** The text, with `…` for its middle if it is longer; names differ at both of their ends. */
export function shortenTo(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  const characters = [...text];
  const head = takeColumns(characters, Math.floor((columns - 1) / 2));
  const tail = takeColumns(characters.reverse(), columns - 1 - displayWidth(head));
  return `${head}…${[...tail].reverse().join("")}`;
}

/**
 * Lines of at most so many columns, broken at spaces; a longer word, such as JSON, after a comma,
 * and without one anywhere.
 */
export function wrapTo(text: string, columns: number): readonly string[] {
  if (displayWidth(text) <= columns) return [text];
  const lines: string[] = [];
  let line = "";
  for (let word of text.split(" ")) {
    if (line !== "" && displayWidth(line) + 1 + displayWidth(word) <= columns) {
      line += ` ${word}`;
      continue;
    }
    if (line !== "") lines.push(line);
    while (displayWidth(word) > columns) {
      const beginning = cutTo(word, columns);
      if (beginning === "") break;
      const head = beginning.slice(0, beginning.lastIndexOf(",") + 1) || beginning;
      lines.push(head);
      word = word.slice(head.length);
    }
    line = word;
  }
  return [...lines, line];
}

/** The beginning of the text, of at most so many columns. */
export function cutTo(text: string, columns: number): string {
  return takeColumns([...text], columns);
}

function takeColumns(characters: readonly string[], columns: number): string {
  let fitting = "";
  let columnsLeft = columns;
  for (const character of characters) {
    columnsLeft -= columnsOf(character);
    if (columnsLeft < 0) break;
    fitting += character;
  }
  return fitting;
}
