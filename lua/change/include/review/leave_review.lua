-- leave_review(own): a review is over, or begins again: its requests leave all inboxes, and what people have said against this content
-- stays known.
local function leave_review(own)
  leave_inboxes(own)
  local counts = count_slots(own)
  if counts.rejected + counts.changes_requested > 0 then note_rejection(own) end
end
