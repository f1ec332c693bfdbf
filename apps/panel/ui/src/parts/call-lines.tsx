import { useState } from 'react';
import { CALLS, type Call, type CallName } from '../data/calls.js';
import styles from './call-lines.module.css';
import { CopyLine } from './copy-line.js';

/** A call of a model for each program, in tabs. `call` is undefined while its model loads. */
export function CallLines({ call }: { call: Call | undefined }) {
  const [shown, setShown] = useState<CallName>('curl');
  return (
    <>
      <div className={styles.tabs} role="tablist" aria-label="Programs">
        {(Object.keys(CALLS) as CallName[]).map((name) => (
          <button key={name} type="button" role="tab" aria-selected={name === shown} onClick={() => setShown(name)}>
            {CALLS[name].title}
          </button>
        ))}
      </div>
      {call && <CopyLine text={CALLS[shown].text(call)} label="Copy the call" />}
    </>
  );
}
