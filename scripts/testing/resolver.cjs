/**
 * Jest's resolver with the condition that leads `#contracts/…` to its source. Jest's own setting for conditions holds while tests run, not
 * when it looks for the tests of a file.
 */
module.exports = (path, options) =>
  options.defaultResolver(path, {
    ...options,
    conditions: ['@tollgate/source', ...(options.conditions ?? ['require', 'node', 'default'])],
  });
