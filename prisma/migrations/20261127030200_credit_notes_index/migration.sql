-- online: finds the credit notes of a request.
CREATE INDEX CONCURRENTLY IF NOT EXISTS movement_note_of ON billing.movement (note_of) WHERE note_of IS NOT NULL;
