/** Prevents text from outside from controlling the terminal that shows it. Pure. */

/**
 * Control characters except line feed and tab, and marks that reverse the text direction, which can
 * make a line look like another one.
 */
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** As `escapeControls`, for a text within a line, such as a name: line feed and tab, too. */
export function escapeInLine(text: string): string {
  return escapeControls(text.replaceAll("\n", "\\n").replaceAll("\t", "\\t"));
}

/** Replaces each with its JSON escape, so JSON keeps its meaning. */
export function escapeControls(text: string): string {
  return text.replace(
    controls,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
