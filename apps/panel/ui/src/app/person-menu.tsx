import { useId, useState } from 'react';
import { Link } from 'wouter';
import { callOnce } from '../data/api.js';
import { useSession } from '../data/session.js';
import { Icon } from '../parts/icon.js';
import styles from './person-menu.module.css';
import { chooseScheme, chosenScheme, SCHEMES, type Scheme } from './scheme.js';

/** The signed-in person: profile and sessions, light or dark, sign out. */
export function PersonMenu() {
  const { me } = useSession();
  const [scheme, setScheme] = useState(chosenScheme);
  const popover = useId();
  return (
    <>
      <button type="button" className={styles.trigger} popoverTarget={popover}>
        <span className={styles.picture} aria-hidden="true">
          {(me.name || me.email).slice(0, 1).toUpperCase()}
        </span>
        <span className={styles.names}>
          <span>{me.name || me.email}</span>
          <span className={styles.email}>{me.email}</span>
        </span>
        <Icon name="chevrons" />
      </button>
      <div id={popover} popover="auto" className={styles.popup}>
        <Link to="/profile" className={styles.item} onClick={() => document.getElementById(popover)?.hidePopover()}>
          Profile and sessions
        </Link>
        <fieldset className={styles.schemes}>
          <legend>Colours</legend>
          {Object.entries(SCHEMES).map(([value, label]) => (
            <label key={value} className={styles.scheme}>
              <input
                type="radio"
                name="scheme"
                checked={value === scheme}
                onChange={() => {
                  chooseScheme(value as Scheme);
                  setScheme(value as Scheme);
                }}
              />
              {label}
            </label>
          ))}
        </fieldset>
        <button type="button" className={styles.item} onClick={() => void signOut()}>
          Sign out
        </button>
      </div>
    </>
  );
}

/** Ends the session on the server and loads the panel anew, so that nothing of the person stays in memory. */
async function signOut(): Promise<void> {
  await callOnce('DELETE', '/session').catch(() => undefined);
  location.assign(import.meta.env.BASE_URL);
}
