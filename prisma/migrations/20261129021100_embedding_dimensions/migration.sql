-- Length of the vectors of a model for embeddings. Null: the model writes replies.
ALTER TABLE catalog.model ADD COLUMN embedding_dimensions integer;
