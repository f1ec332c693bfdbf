// The package exports its decorators, and keeps what they record in a file without types of its own.
declare module 'class-transformer/cjs/storage.js' {
  export { defaultMetadataStorage } from 'class-transformer/types/storage.js';
}
