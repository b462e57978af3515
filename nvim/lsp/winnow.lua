return require('winnow.client').config
