/** Keeps what others have written from steering the terminal that shows it. Pure. */

/**
 * Control characters but the line feed and the tab, and marks that turn the direction of the text
 * around, which make a line look like another one.
 */
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** With an escape, as JSON has it, in place of each: so JSON stays what it is. */
export function escapeControls(text: string): string {
  return text.replace(
    controls,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
