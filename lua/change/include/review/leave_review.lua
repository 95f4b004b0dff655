-- leave_review(own): a review is over: its requests leave all inboxes, and what people have said against this content stays known.
local function leave_review(own)
  leave_inboxes(own)
  note_objections(own)
end
