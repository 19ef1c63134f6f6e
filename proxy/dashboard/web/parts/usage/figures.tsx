/** A row of figures, each with what it is and a note in small letters. */
import type { Figure } from "./usage-figures.js";

export function Figures({ figures }: { readonly figures: readonly Figure[] }) {
  return (
    <dl class="card figures">
      {figures.map(({ label, value, note }) => (
        <div class="figure" key={label}>
          <dt>{label}</dt>
          <dd>
            <strong>{value}</strong>
            {note !== undefined && <span class="soft small">{note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
