import type { Recommendation, RecommendationKind } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { fieldChanges } from '../../components/field-changes.ts';
import { words } from '../../components/format.ts';
import { MeaningShape } from '../../components/marks.tsx';
import { ChangeActions } from './change-actions.tsx';
import classes from './plan.module.css';

const EFFECTS: Record<RecommendationKind, string> = {
  register_item: 'becomes available to agents',
  retire_item: 'is retired, because the provider no longer offers it',
  block_item: 'is blocked, because it was rejected and agents still use it',
  adopt_provider: 'becomes active',
  accept_drift: 'gets the new definition of the provider',
  rotate_credential: 'is replaced by its successor',
  confirm_removals: 'lost items, which are missing from then on',
  allow_in_manifest: 'is added to the manifest that denies it, in a new version for the gateways that use it',
};

type Props = {
  recommendations: readonly Recommendation[];
  /** Whether they need no decision before they are applied. */
  areApplicable: boolean;
};

/** Each change, with its fields and what can be done with it alone when it is opened. */
export function ChangeList({ recommendations, areApplicable }: Props): ReactNode {
  return (
    <ul className={classes.changes}>
      {recommendations.map((recommendation) => (
        <li key={recommendation.id}>
          <details className={classes.change}>
            <summary>
              <MeaningShape meaning={recommendation.kind === 'block_item' ? 'blocked' : 'declared'} />
              <span className={classes.sign} aria-hidden="true">
                {signOfChange(recommendation)}
              </span>
              <strong>{nameOfChange(recommendation)}</strong>
              <span className="dim">{EFFECTS[recommendation.kind]}</span>
            </summary>
            <p>{recommendation.reason}</p>
            <ChangedFields recommendation={recommendation} />
            <div className={classes.actions}>
              <ChangeActions
                recommendation={recommendation}
                name={nameOfChange(recommendation)}
                isApplicable={areApplicable}
              />
            </div>
          </details>
        </li>
      ))}
    </ul>
  );
}

/** The fields that a recommendation changes, before and after. */
export function ChangedFields({ recommendation: { change } }: { recommendation: Recommendation }): ReactNode {
  return (
    <dl className={classes.fields}>
      {fieldChanges(change.before ?? {}, change.after ?? {}).map(({ path, before, after }) => (
        <div key={path}>
          <dt>{path}</dt>
          <dd>
            {before !== null && <del>{before}</del>} {after !== null && <ins>{after}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** `+`, `−` or `~`. */
export function signOfChange({ change }: Recommendation): string {
  if (change.before === null) return '+';
  return change.after === null ? '−' : '~';
}

/** The kind and name of what is changed. */
export function nameOfChange({ change }: Recommendation): string {
  const fields = { ...change.before, ...change.after } as Record<string, unknown>;
  const parts = [fields['kind'], fields['name']].filter((part): part is string => typeof part === 'string');
  return parts.length === 0 ? words(change.target.type) : parts.join(' ');
}
