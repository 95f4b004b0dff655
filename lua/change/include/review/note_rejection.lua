-- note_rejection(own): people have rejected this content, or want it changed. Of a change, the last 10 such contents are known.
local function note_rejection(own)
  if was_rejected(own) then return end
  local before = text_of(own, 'rejected')
  set_field(own, 'rejected', own.digest .. (before ~= '' and ',' .. string.sub(before, 1, 9 * 41 - 1) or ''))
end
