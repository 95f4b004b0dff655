-- was_rejected(own): whether people have rejected this content before, or wanted it changed: then no policy approves it.
local function was_rejected(own)
  return string.find(',' .. text_of(own, 'rejected') .. ',', ',' .. own.digest .. ',', 1, true) ~= nil
end
