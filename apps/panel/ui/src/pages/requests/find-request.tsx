import { type FormEvent, useState } from 'react';
import { useLocation } from 'wouter';
import { findRequestName, REQUEST_ID_FORMS } from '#contracts/rules/request-id.js';
import { SearchField } from '../../parts/field.js';
import styles from './requests.module.css';

/** Opens the request of an id. What is pasted may be a whole line of a log. */
export function FindRequest() {
  const [, navigate] = useLocation();
  const [text, setText] = useState('');
  const [isUnknown, setUnknown] = useState(false);
  const write = (written: string) => {
    setText(written);
    setUnknown(false);
    const found = findRequestName(written);
    if (found) navigate(`/requests/${found}`);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setUnknown(text.trim() !== '' && findRequestName(text) === undefined);
  };
  return (
    <form className={styles.find} onSubmit={submit}>
      <SearchField label="Find by id: req_…, chatcmpl-…" value={text} onText={write} />
      {isUnknown && <p role="alert">{REQUEST_ID_FORMS}</p>}
    </form>
  );
}
