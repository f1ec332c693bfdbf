import { useState } from 'react';
import { useLocation } from 'wouter';
import { Button } from '../parts/button.js';
import { Dialog, DialogActions } from '../parts/dialog.js';
import { TextField } from '../parts/field.js';

/** Opens a request by its id, from anywhere with the key `/`. */
export function FindRequest({ onClose }: { onClose: () => void }) {
  const [id, setId] = useState('');
  const [, navigate] = useLocation();
  return (
    <Dialog title="Find a request" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          navigate(`/requests/${encodeURIComponent(id.trim())}`);
          onClose();
        }}
      >
        <TextField
          label="Request id"
          hint="The header x-request-id of the reply, or the id in an error message."
          value={id}
          onText={setId}
          autoComplete="off"
          spellCheck={false}
          required
        />
        <DialogActions>
          <Button type="submit" look="primary">
            Open
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
