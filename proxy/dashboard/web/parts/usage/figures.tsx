/** A row of figures, each with what it is and a note in small letters. */

interface Figure {
  readonly label: string;
  readonly value: string;
  readonly note?: string;
}

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
