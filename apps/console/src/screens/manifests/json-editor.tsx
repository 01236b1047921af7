import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { bracketMatching, defaultHighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, linter, lintGutter } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { EditorView, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view';
import { type ReactNode, useEffect, useRef } from 'react';
import { HIDDEN_CHARACTERS } from '../../visible/visible-text.ts';
import { type JsonSchema, schemaFaults } from './schema-faults.ts';

type Props = {
  label: string;
  value: string;
  /** Without it the text cannot be changed. */
  onChange?: (value: string) => void;
  schema?: JsonSchema | undefined;
  /** Whether the user types here first. */
  takesFocus?: boolean;
};

/** A text field for JSON that marks what is wrong with it. Loaded only where it is needed: it is large. */
export default function JsonEditor({ label, value, onChange, schema, takesFocus = false }: Props): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const initial = useRef(value);
  const change = useRef(onChange);
  const isReadOnly = onChange === undefined;
  useEffect(() => {
    change.current = onChange;
  });
  useEffect(() => {
    if (frame.current === null) return;
    const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';
    const view = new EditorView({
      parent: frame.current,
      state: EditorState.create({
        doc: initial.current,
        extensions: [
          EditorView.cspNonce.of(nonce),
          lineNumbers(),
          highlightSpecialChars({ specialChars: HIDDEN_CHARACTERS }),
          history(),
          indentOnInput(),
          bracketMatching(),
          syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
          json(),
          lintGutter(),
          linter((current) => diagnosticsOf(current, schema)),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorState.readOnly.of(isReadOnly),
          // The dialog looks for the mark if it opens after the editor.
          EditorView.contentAttributes.of({ 'aria-label': label, ...(takesFocus && { 'data-autofocus': 'true' }) }),
          EditorView.lineWrapping,
          EditorView.updateListener.of((update) => {
            if (update.docChanged) change.current?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    if (takesFocus) view.focus();
    return () => view.destroy();
  }, [schema, isReadOnly, label, takesFocus]);
  return <div ref={frame} className="qm-editor" />;
}

const parseFaults = jsonParseLinter();

function diagnosticsOf(view: EditorView, schema: JsonSchema | undefined): Diagnostic[] {
  const syntax = parseFaults(view);
  if (syntax.length > 0 || schema === undefined) return syntax;
  const text = view.state.doc.toString();
  return schemaFaults(JSON.parse(text), schema).map(({ path, message }) => {
    const key = path.findLast((part) => typeof part === 'string');
    const at = key === undefined ? 0 : Math.max(0, text.lastIndexOf(`"${key}"`));
    return { from: at, to: Math.min(text.length, at + String(key ?? '').length + 2), severity: 'error', message };
  });
}
