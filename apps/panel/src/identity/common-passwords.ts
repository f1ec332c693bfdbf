/** Words of the commonest passwords, in the form that `isCommonPassword` compares. */
const WORDS: ReadonlySet<string> = new Set([
  ...['password', 'passwort', 'passphrase', 'mypassword', 'newpassword', 'qwerty', 'qwertyuiop', 'qwertz', 'qwertzuiop', 'azerty'],
  ...[
    'asdfghjkl',
    'asdfghjklzxcvbnm',
    'qwertyuiopasdfghjkl',
    'zxcvbnm',
    'letmein',
    'letmeinplease',
    'welcome',
    'iloveyou',
    'ihateyou',
    'admin',
  ],
  ...[
    'administrator',
    'root',
    'changeme',
    'changemenow',
    'default',
    'secret',
    'topsecret',
    'login',
    'test',
    'testing',
    'user',
    'guest',
    'temp',
  ],
  ...[
    'master',
    'monkey',
    'dragon',
    'football',
    'baseball',
    'basketball',
    'superman',
    'batman',
    'princess',
    'sunshine',
    'shadow',
    'starwars',
  ],
  ...['pokemon', 'whatever', 'trustno', 'hello', 'helloworld', 'abc', 'abcdef', 'abcdefgh', 'abcdefghijkl', 'abcdefghijklmnop', 'computer'],
  ...[
    'correcthorsebatterystaple',
    'tollgate',
    'gateway',
    'panel',
    'company',
    'server',
    'database',
    'postgres',
    'internet',
    'spring',
    'summer',
  ],
  ...['autumn', 'winter', 'january', 'february', 'monday', 'liverpool', 'manchester', 'michael', 'jennifer', 'charlie', 'thomas', 'jordan'],
]);

const LETTER_OF: Record<string, string> = { '@': 'a', '4': 'a', '0': 'o', $: 's', '5': 's', '3': 'e', '1': 'i' };
const PERIOD_MAX = 5;

/**
 * True for a password of digits alone, for one of a few characters repeated, and for a common word with anything but letters before or
 * after it: `Password2027!!`. Lists of leaked passwords are mostly shorter than the least length; the longer ones have these forms.
 */
export function isCommonPassword(password: string): boolean {
  const text = password.toLowerCase();
  const core = text.replace(/^[^a-z@$]+|[^a-z]+$/g, '').replace(/[@40$531]/g, (sign) => LETTER_OF[sign] ?? sign);
  return core === '' || WORDS.has(core) || isRepetition(text);
}

/** True for a text that repeats its first one to five characters. */
function isRepetition(text: string): boolean {
  return Array.from({ length: PERIOD_MAX }, (_, index) => index + 1).some((period) => text.slice(period) === text.slice(0, -period));
}
