-- note_objections(own): what people have said against the content of a change under review stays known.
local function note_objections(own)
  local counts = count_slots(own)
  if counts.rejected + counts.changes_requested > 0 then note_rejection(own) end
end
