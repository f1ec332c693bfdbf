/** Form of an e-mail address in lower case. The database demands an `@` between texts without space as well. */
export const EMAIL_ADDRESS = /^[^@\s]{1,64}@[^@\s]{1,189}$/;
