-- keep_note(ctx, note, parent_only): keep a note for the end of this call. parent_only: no task waits for its task but
-- the parent.
local function keep_note(ctx, note, parent_only)
  ctx.notes = ctx.notes or {}
  if ctx.notes[note] == nil then ctx.notes[#ctx.notes + 1], ctx.notes[note] = note, parent_only or false end
end
