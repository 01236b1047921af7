import { diffWordsWithSpace } from 'diff';
import type { ReactNode } from 'react';
import classes from './definition-diff.module.css';
import { type FieldChange, fieldChanges, warningsOf } from './field-changes.ts';

/** Which fields of a definition changed, and which words in them. */
export default function DefinitionDiff({ before, after }: { before: object; after: object }): ReactNode {
  const changes = fieldChanges(before, after);
  const warnings = warningsOf(changes);
  return (
    <div className={classes.diff}>
      {warnings.length > 0 && (
        <ul className={classes.warnings} aria-label="Look at this first">
          {warnings.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      )}
      <ul className={classes.fields}>
        {changes.map((change) => (
          <li key={change.path}>
            <div className={classes.path}>
              <code>{change.path}</code> <span className="dim">{verbOf(change)}</span>
            </div>
            <Words change={change} />
          </li>
        ))}
        {changes.length === 0 && <li className="dim">Only the digest of the definition differs.</li>}
      </ul>
    </div>
  );
}

function Words({ change: { before, after } }: { change: FieldChange }): ReactNode {
  const parts = diffWordsWithSpace(before ?? '', after ?? '');
  return (
    <p className={classes.words}>
      {parts.map(({ value, added, removed }, index) => {
        // The parts of one comparison never move.
        const key = `${index}`;
        if (added) return <ins key={key}>{value}</ins>;
        if (removed) return <del key={key}>{value}</del>;
        return <span key={key}>{value}</span>;
      })}
    </p>
  );
}

function verbOf({ before, after }: FieldChange): string {
  if (before === null) return 'added';
  return after === null ? 'removed' : 'changed';
}
